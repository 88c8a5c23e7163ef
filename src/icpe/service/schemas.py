"""What clients send and receive, as the OpenAPI schema shows it."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from icpe.core.request import LEAST_CONFIDENCE

Number = Annotated[float, Field(allow_inf_nan=False)]
Numbers = Number | Annotated[list[Number], Field(max_length=100_000)]
Word = Annotated[str, Field(max_length=1000)]
_Value = Number | Word | None
Outcome = Annotated[
    _Value
    | Annotated[list[_Value], Field(max_length=100_000)]
    | Annotated[dict[Word, _Value], Field(max_length=10_000)],
    Field(
        description="One number, or as many as the family's outcomes have; one of the "
        "family's words where it has some. About a table: a value of the feature, null "
        "if it is not known, or the values of several features, in order or by name."
    ),
]
Mask = Annotated[list[bool], Field(max_length=100_000)]
ClientToken = Annotated[
    str,
    Field(
        pattern=r"^[!-~]{1,200}$",
        description="A text of the client's own that names this call. The same call "
        "with the same token is carried out once, however often it is sent.",
    ),
]
Seen = Annotated[
    int,
    Field(
        ge=1,
        le=2**31 - 1,
        description="`number` of the session as the client has seen it; if events "
        "have been added since, the answer is 409.",
    ),
]
Query = Annotated[
    Annotated[int, Field(ge=0, le=2**31 - 1)] | Word,
    Field(description="Number or name of a query."),
]


class _Given(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, strict=True)


class Goal(_Given):
    """What is asked of an explorer: exactly one of the first three."""

    error_prob: Annotated[float | None, Field(gt=0, lt=1)] = None
    budget: Annotated[int | None, Field(ge=1, le=2**31 - 1)] = None
    price: Annotated[float | None, Field(gt=0)] = None
    max_queries: Annotated[int | None, Field(ge=1, le=2**31 - 1)] = None
    confidence: Annotated[float, Field(ge=0, le=1)] = LEAST_CONFIDENCE
    promise: Literal["average", "belief", "every-hypothesis"] = "average"


class UnitsGiven(_Given):
    """What the client's numbers mean, where a model serves any units."""

    unit: Annotated[str, Field(max_length=50)] = ""
    noise: Annotated[float | None, Field(gt=0)] = None
    matters: Annotated[float | None, Field(gt=0)] = None
    smaller_is_better: bool = False


class Start(Goal):
    """A model and a request, with what the task revealed before any query."""

    model: Annotated[str, Field(max_length=200)]
    first_outcome: Numbers | None = None
    query_mask: Mask | None = None
    seed: Annotated[int, Field(ge=0, le=2**32 - 1)] = 0
    on_alarm: Literal["go on", "stop"] = "go on"
    units: UnitsGiven | None = None
    names: (
        Annotated[
            list[Annotated[str, Field(min_length=1, max_length=100)]],
            Field(max_length=10_000),
        ]
        | None
    ) = None


class NewSession(Start):
    """A session to be created."""

    id: Annotated[str | None, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")] = (
        None
    )
    token: ClientToken | None = None


class GivenAnswer(_Given):
    """One answer of a history."""

    query: Query
    outcome: Outcome
    terminated: bool = False
    query_mask: Mask | None = None


class GivenHistory(Start):
    """A whole history; nothing about it is kept."""

    history: list[GivenAnswer] = []


class Ask(_Given):
    """How many questions are to be open."""

    count: Annotated[int, Field(ge=1, le=1000)] = 1
    at: Seen | None = None


class Tell(GivenAnswer):
    """The answer to a question."""

    token: ClientToken | None = None
    at: Seen | None = None
    unasked: Annotated[
        bool,
        Field(
            description="Take the answer even if its question is not open. Without "
            "it such an answer is refused, since it is most often a repeated one."
        ),
    ] = False
    ask: Annotated[
        int,
        Field(ge=0, le=1000, description="How many questions are to be open next."),
    ] = 0


class Skip(_Given):
    """An open question that cannot be answered."""

    query: Query | None = None
    token: ClientToken | None = None
    at: Seen | None = None


class Undo(_Given):
    """The last answer or skip is to be taken back."""

    token: ClientToken | None = None
    at: Seen | None = None


class Close(_Given):
    """Nothing more is to be taken."""

    token: ClientToken | None = None
    at: Seen | None = None


class Problem(BaseModel):
    """Why a request was refused, in one sentence."""

    detail: str


class Question(BaseModel):
    """A query with the family's words for it."""

    query: int
    name: str
    question: str


class ToldAnswer(BaseModel):
    """One answer that counts."""

    query: int
    name: str
    outcome: list[float]
    asked: bool
    told: float | None


class Decision(BaseModel):
    """What decides whether the explorer stops: it does if `margin` is at most 0."""

    stop: float
    ask: float | None
    margin: float | None
    kind: Literal["values", "threshold"]


class Standing(BaseModel):
    """Where a session stands."""

    open: list[Question]
    next: Question | None
    stopped: bool
    stop_reason: str
    stop_sentence: str
    recommendation: int
    recommendation_name: str
    posterior: list[float] | None
    stop_statistic: Decision | None
    num_queries: int
    units: dict[str, Any] | None
    cost: float
    certified: bool
    confidence: float | None
    certificate_lost: str | None
    alarm: str | None
    history: list[ToldAnswer]
    skipped: list[int]


class SessionView(Standing):
    """A session of the service."""

    id: str
    model: str | None
    artifact: str
    family: str
    created: float
    updated: float
    number: int
    status: Literal["open", "stopped", "closed"]
    request: dict[str, Any]
    operating_point: dict[str, Any]


class NextView(Standing):
    """What a session with this history would say."""

    model: str
    artifact: str


class SessionSummary(BaseModel):
    """A session in a list."""

    id: str
    model: str | None
    artifact: str
    created: float
    updated: float
    number: int
    status: Literal["open", "stopped", "closed"]


class SessionList(BaseModel):
    """Sessions, the latest first; `before` for those that follow."""

    sessions: list[SessionSummary]
    before: str | None


class EventView(BaseModel):
    """One event of a session."""

    number: int
    kind: str
    time: float
    body: dict[str, Any]
    status: str
    token: str | None


class EventList(BaseModel):
    """What happened in a session, first to last."""

    id: str
    events: list[EventView]


class ModelSummary(BaseModel):
    """A model in a list."""

    name: str
    family: str
    parameters: dict[str, Any]
    certified_error_prob: float | None
    price_range: list[float] | None


class ModelList(BaseModel):
    """All models that can be used."""

    models: list[ModelSummary]


class ModelView(ModelSummary):
    """A model with its card and certificates."""

    artifact: str
    spec: dict[str, Any]
    certificates: list[dict[str, Any]]
    operating_table: dict[str, Any] | None
    provenance: dict[str, Any]
    guarded: bool


class Health(BaseModel):
    """Whether the service is well."""

    status: Literal["ok"]
