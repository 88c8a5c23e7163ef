"""What a browser sends: forms, read without further packages."""

from urllib.parse import parse_qsl

from fastapi import Request

from icpe.core.errors import InvalidParameterError
from icpe.portable.reading import typed_number

_MOST_FIELDS = 20_000


class Form(dict[str, str]):
    """The fields of a form; of several with one name the last."""

    def text(self, name: str) -> str | None:
        """What was typed, None if nothing was."""
        return self.get(name, "").strip() or None

    def number(self, name: str) -> float | None:
        """A number that was typed, None if nothing was.

        Raises:
            InvalidParameterError: it is no number.
        """
        text = self.text(name)
        if text is None:
            return None
        try:
            return typed_number(text)
        except ValueError as error:
            why = f", and {error}" if " may be " in str(error) else ""
            raise InvalidParameterError(
                f"{name} must be a number; got {text[:40]!r}{why}."
            ) from None

    def whole(self, name: str) -> int | None:
        """A whole number that was typed, None if nothing was.

        Raises:
            InvalidParameterError: it is no whole number.
        """
        text = self.text(name)
        if text is None:
            return None
        try:
            return int(text)
        except ValueError:
            raise InvalidParameterError(
                f"{name} must be a whole number; got {text[:40]!r}."
            ) from None


async def read_form(request: Request) -> Form:
    """The form in the body of a request.

    Raises:
        InvalidParameterError: the body is no form.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    if kind != "application/x-www-form-urlencoded":
        raise InvalidParameterError("The body must be a form, as browsers send it.")
    body = await request.body()
    try:
        pairs = parse_qsl(
            body.decode("utf-8"),
            keep_blank_values=True,
            max_num_fields=_MOST_FIELDS,
        )
    except ValueError:
        raise InvalidParameterError("The form cannot be read.") from None
    return Form(pairs)
