"""Progress on a terminal and elsewhere."""

import io

from icpe.cli import terminal


class Terminal(io.StringIO):
    """A standard error on which a bar can be drawn."""

    def isatty(self):
        return True


def work(meter):
    meter.start("training", 4)
    meter.note("loss 1.5")
    meter.advance(3)
    meter.advance(1)
    meter.finish()


def test_elsewhere_progress_is_a_line_now_and_then(capsys, monkeypatch):
    monkeypatch.setattr(terminal, "_SECONDS_BETWEEN_LINES", 0.0)
    work(terminal.progress_meter())
    assert capsys.readouterr().err == "training: 3 of 4, loss 1.5\n"


def test_work_that_is_soon_done_says_nothing(capsys):
    work(terminal.progress_meter())
    assert capsys.readouterr().err == ""


def test_on_a_terminal_progress_is_a_bar_that_disappears(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    work(terminal.progress_meter())
    assert "training: loss 1.5" in screen.getvalue()
    assert "4/4" in screen.getvalue()
