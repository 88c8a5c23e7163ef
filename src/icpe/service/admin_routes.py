"""Access tokens, for those who may make them."""

import time
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, ConfigDict, Field

from icpe.deploy.storage import AccessToken
from icpe.service.access import require
from icpe.service.documented import answers
from icpe.service.tokens import create_token

router = APIRouter(prefix="/v1/tokens", tags=["tokens"])


class NewToken(BaseModel):
    """A token to be made."""

    model_config = ConfigDict(extra="forbid", strict=True)
    name: Annotated[str, Field(pattern=r"^[ -~]{1,100}$")]
    scopes: Annotated[list[str], Field(min_length=1, max_length=3)]
    days: Annotated[float | None, Field(gt=0, lt=1e6)] = None


class TokenView(BaseModel):
    """A token without its secret."""

    id: str
    name: str
    scopes: list[str]
    created: float
    expires: float | None
    revoked: float | None


class MadeToken(TokenView):
    """A token with its secret, which is shown this once."""

    token: str


class TokenList(BaseModel):
    """All tokens, the oldest first."""

    tokens: list[TokenView]


@router.get("", responses=answers(), dependencies=[require("admin")])
async def list_tokens(request: Request) -> TokenList:
    """All tokens, revoked ones included."""
    service = request.app.state.service
    found = await service.sessions.blocking(service.storage.tokens)
    return TokenList(tokens=[TokenView(**token_view(it)) for it in found])


@router.post("", status_code=201, responses=answers(), dependencies=[require("admin")])
async def make_token(request: Request, given: NewToken) -> MadeToken:
    """Makes a token."""
    service = request.app.state.service
    text, token = await service.sessions.blocking(
        lambda: create_token(service.storage, given.name, given.scopes, days=given.days)
    )
    return MadeToken(token=text, **token_view(token))


@router.delete(
    "/{id}",
    status_code=204,
    responses=answers(404),
    dependencies=[require("admin")],
)
async def revoke_token(
    request: Request, id: Annotated[str, Path(pattern=r"^[0-9a-f]{1,40}$")]
) -> None:
    """Revokes a token, which then works for a second more at most."""
    service = request.app.state.service
    await service.sessions.blocking(service.storage.revoke_token, id, time.time())


def token_view(token: AccessToken) -> dict[str, Any]:
    """A token as it may be shown."""
    values = {name: it for name, it in vars(token).items() if name != "digest"}
    return {**values, "scopes": list(token.scopes)}
