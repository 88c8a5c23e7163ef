"""Classical methods: most of them know no prior, only the law of rewards."""

from icpe.explorers.classical import served
from icpe.explorers.classical.adaptive_tests import (
    make_curtailed_sprt,
    make_fixed_form,
    make_maximum_information,
    make_sprt,
)
from icpe.explorers.classical.eb_tc import make_eb_tc
from icpe.explorers.classical.exp3g import make_exp3g
from icpe.explorers.classical.feedback_track_and_stop import (
    make_feedback_track_and_stop,
)
from icpe.explorers.classical.finite_tests import make_chernoff, make_naghshvar_javidi
from icpe.explorers.classical.first_arms import on_first_arms
from icpe.explorers.classical.gaussian_ids import make_gaussian_ids
from icpe.explorers.classical.kl_lucb import make_kl_lucb
from icpe.explorers.classical.lucb import make_lucb
from icpe.explorers.classical.sequential_halving import make_sequential_halving
from icpe.explorers.classical.successive_rejects import make_successive_rejects
from icpe.explorers.classical.thompson import make_thompson
from icpe.explorers.classical.top_two_sampling import make_ttps, make_ttts
from icpe.explorers.classical.track_and_stop import make_track_and_stop
from icpe.explorers.classical.ucb import make_ucb
from icpe.explorers.classical.uniform_sampling import make_uniform_sampling
from icpe.explorers.registry import About, register_explorer

_RATIO = (
    "with threshold=valid errs with probability at most delta on every task "
    "(Gaussian: Kaufmann and Koolen 2021, Corollary 10; Bernoulli: Garivier and "
    "Kaufmann 2016, Theorem 10); the default threshold is the paper's heuristic"
)
_GRAPH_RATIO = (
    "with threshold=valid errs with probability at most delta on every task "
    "(Kaufmann and Koolen 2021, Corollary 10); the default threshold is the paper's "
    "heuristic"
)
_BUDGET = "budget"

register_explorer(
    "track-and-stop",
    on_first_arms(make_track_and_stop),
    served.has_plain_arms,
    "pulls arms in the proportions that are optimal for the sample means",
    About(
        "Garivier and Kaufmann 2016, Optimal best arm identification with fixed "
        "confidence",
        f"asymptotically optimal, T* ln(1/delta) queries; {_RATIO}",
    ),
)
register_explorer(
    "ttps",
    on_first_arms(make_ttps),
    served.has_plain_arms,
    "top-two probability sampling: a coin between the two arms most probably best",
    About(
        "Russo 2020, Simple Bayesian algorithms for best-arm identification; Jourdan "
        "et al. 2022, Top two algorithms revisited",
        f"at most twice the optimum as delta falls; {_RATIO}",
    ),
)
register_explorer(
    "ttts",
    on_first_arms(make_ttts),
    served.has_plain_arms,
    "top-two Thompson sampling: two arms drawn from the posterior, then a coin",
    About(
        "Russo 2020, Simple Bayesian algorithms for best-arm identification",
        f"at most twice the optimum as delta falls; {_RATIO}",
    ),
)
register_explorer(
    "eb-tc",
    on_first_arms(make_eb_tc),
    served.has_plain_arms,
    "a coin between the best sample mean and the rival hardest to tell from it",
    About(
        "Jourdan et al. 2022, Top two algorithms revisited",
        f"at most twice the optimum as delta falls, with improved=true; {_RATIO}",
    ),
)
register_explorer(
    "lucb",
    on_first_arms(make_lucb),
    served.has_plain_arms,
    "pulls the leader and the rival with the largest upper confidence bound",
    About(
        "Kalyanakrishnan et al. 2012, PAC subset selection in stochastic multi-armed "
        "bandits",
        "errs with probability at most delta on every task: the default exploration "
        "rate ln(5 K t^4 / (4 delta)) is that of LUCB1, whose probability of a mistake "
        "is bounded in the same reference; threshold=heuristic has no theorem",
        serves="error_prob",
    ),
)
register_explorer(
    "kl-lucb",
    make_kl_lucb,
    served.has_bernoulli_arms,
    "LUCB with confidence bounds that suit successes and failures",
    About(
        "Kaufmann and Kalyanakrishnan 2013, Information complexity in bandit subset "
        "selection",
        "errs with probability at most delta on every task: the default exploration "
        "rate ln(2 K t^2 / delta) is that of Theorem 1 there; threshold=heuristic has "
        "no theorem",
        serves="error_prob",
    ),
)
register_explorer(
    "uniform-sampling",
    on_first_arms(make_uniform_sampling),
    served.has_arms,
    "random queries, answers by the sample means and stops as Track-and-Stop does",
    About("the paper's uniform baseline", _RATIO),
)
register_explorer(
    "tas-fg",
    make_feedback_track_and_stop,
    served.has_graph_arms,
    "Track-and-Stop for feedback graphs, known or unknown",
    About(
        "Russo, Song and Pacchiano 2025, Pure exploration with feedback graphs",
        f"follows the optimal proportions by a few steps per query; {_GRAPH_RATIO}",
    ),
)
register_explorer(
    "exp3-g",
    make_exp3g,
    served.has_graph_arms,
    "exponential weights on a feedback graph, with the stopping rule of tas-fg",
    About(
        "Alon, Cesa-Bianchi, Dekel and Koren 2015, Online learning with feedback "
        "graphs; Rouyer et al. 2022",
        f"made for small regret, none for identification; {_GRAPH_RATIO}",
    ),
)
register_explorer(
    "successive-rejects",
    on_first_arms(make_successive_rejects),
    served.pays_for_itself,
    "drops the worst arm after each of K - 1 phases",
    About(
        "Audibert, Bubeck and Munos 2010, Best arm identification in multi-armed "
        "bandits",
        "P(error) <= K (K-1) / 2 exp(-(n - K) / (L H2)) for rewards in [0, 1] "
        "(Theorem 2 there)",
        serves=_BUDGET,
    ),
)
register_explorer(
    "sequential-halving",
    on_first_arms(make_sequential_halving),
    served.pays_for_itself,
    "drops the worse half of the arms after each round",
    About(
        "Karnin, Koren and Somekh 2013, Almost optimal exploration in multi-armed "
        "bandits",
        "P(error) <= 3 log2(K) exp(-n / (8 H2 log2 K)) for rewards in [0, 1] "
        "(Theorem 4.1 there)",
        serves=_BUDGET,
    ),
)
register_explorer(
    "chernoff",
    make_chernoff,
    served.is_finite,
    "queries that separate the most likely hypothesis from all others",
    About(
        "Chernoff 1959, Sequential design of experiments",
        "asymptotically optimal where every query tells tasks apart; errs with "
        "probability at most delta on average over the prior, and on every task with "
        "threshold=valid (Ville's inequality)",
    ),
)
register_explorer(
    "naghshvar-javidi",
    make_naghshvar_javidi,
    served.is_finite,
    "queries that raise the log odds of the truth fastest",
    About(
        "Naghshvar and Javidi 2013, Active sequential hypothesis testing; Naghshvar, "
        "Javidi and Wigger 2015, Extrinsic Jensen-Shannon divergence",
        "errs with probability at most delta on average over the prior, and on every "
        "task with threshold=valid (Ville's inequality)",
    ),
)
register_explorer(
    "ucb",
    on_first_arms(make_ucb),
    served.pays_rewards,
    "UCB1 for regret: the largest upper confidence bound",
    About(
        "Auer, Cesa-Bianchi and Fischer 2002, Finite-time analysis of the multiarmed "
        "bandit problem",
        "regret of order ln t on every task; none for identification",
        serves=_BUDGET,
    ),
)
register_explorer(
    "thompson",
    on_first_arms(make_thompson),
    served.pays_rewards,
    "Thompson sampling for regret, with a Gaussian prior",
    About(
        "Agrawal and Goyal 2017, Near-optimal regret bounds for Thompson sampling",
        "regret of order ln t on every task; none for identification",
        serves=_BUDGET,
    ),
)
register_explorer(
    "gaussian-ids",
    on_first_arms(make_gaussian_ids),
    served.pays_rewards,
    "information-directed sampling for regret, with a Gaussian prior",
    About(
        "Russo and Van Roy 2018, Learning to optimize via information-directed "
        "sampling",
        "Bayesian regret of order sqrt(K ln(K) t); none for identification",
        serves=_BUDGET,
    ),
)
register_explorer(
    "maximum-information",
    make_maximum_information,
    served.has_items,
    "the item of largest Fisher information at the estimated ability, or at a cut",
    About(
        "Lord 1980, Applications of item response theory to practical testing problems",
        "errs with probability at most delta on average over the prior",
    ),
)
register_explorer(
    "sprt",
    make_sprt,
    served.has_items,
    "likelihood ratios at every cut score, items of largest information at the nearest",
    About(
        "Wald 1947, Sequential analysis; Spray and Reckase 1996, Comparison of SPRT "
        "and sequential Bayes procedures for classifying examinees",
        "about delta for abilities at the ends of the indifference region",
    ),
)
register_explorer(
    "curtailed-sprt",
    make_curtailed_sprt,
    served.has_items,
    "the same, ended where the rest of the test will hardly change the outcome",
    About(
        "Finkelman 2008, On using stochastic curtailment to shorten the SPRT in "
        "sequential mastery testing",
        "none beyond that of the SPRT; the rest of the test is approximated, with the "
        "ability as uncertain as its posterior",
    ),
)
register_explorer(
    "fixed-form",
    make_fixed_form,
    served.has_items,
    "the same items in the same order for everybody, stopped by the posterior",
    About("the classical test", "errs with probability at most delta on average"),
)
