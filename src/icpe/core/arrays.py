"""Names of the arrays that appear everywhere."""

from typing import Any

from jaxtyping import Array, Bool, Float, Int, Key

PyTree = Any
PRNGKey = Key[Array, ""]
Scalar = Float[Array, ""]
Index = Int[Array, ""]
Flag = Bool[Array, ""]
