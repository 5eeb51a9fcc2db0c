"""Vectors of eight float64 inside Numba's functions.

Numba relies on LLVM to vectorise, and LLVM does not vectorise products of a vector and a small matrix of known size: it
unrolls them into scalar code first. Here are the few operations that such products need: forward-backward with K = 8
took 100 ns per character without them and takes 36 ns with them. LLVM maps them to the vector width of the processor
(AVX-512, AVX2, NEON).

load(array, i)         read elements i to i + 7 of a flat float64 array; bounds are not checked
store(array, i, x)     write elements i to i + 7
splat(value)           the same number eight times
fma(x, y, z)           x * y + z, elementwise; fused where the processor can
mul(x, y), add(x, y)   elementwise
total(x)               the sum of the eight, pairwise
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model
from numba.np.arrayobj import make_array

WIDTH = 8
"""Elements in a vector; arrays are padded to a multiple of it."""

_LLVM = ir.VectorType(ir.DoubleType(), WIDTH)
_INT = ir.IntType(32)


class _Vector(types.Type):
    def __init__(self):
        super().__init__(name=f"float64x{WIDTH}")


_vector = _Vector()


@register_model(_Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager, numba_type):
        super().__init__(manager, numba_type, _LLVM)


def _address(context, builder, array_type, array, index):
    data = make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), _LLVM.as_pointer())


@intrinsic
def load(typing_context, array, index):
    """Elements index to index + 7."""

    def generate(context, builder, signature, arguments):
        vector = builder.load(_address(context, builder, signature.args[0], *arguments))
        vector.align = 8
        return vector

    return _vector(array, types.intp), generate


@intrinsic
def store(typing_context, array, index, vector):
    """Write elements index to index + 7."""

    def generate(context, builder, signature, arguments):
        address = _address(context, builder, signature.args[0], arguments[0], arguments[1])
        builder.store(arguments[2], address, align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, _vector), generate


@intrinsic
def splat(typing_context, value):
    """Eight times `value`."""

    def generate(context, builder, signature, arguments):
        undefined = ir.Constant(_LLVM, ir.Undefined)
        first = builder.insert_element(undefined, arguments[0], ir.Constant(_INT, 0))
        zeros = ir.Constant(ir.VectorType(_INT, WIDTH), [0] * WIDTH)
        return builder.shuffle_vector(first, undefined, zeros)

    return _vector(types.float64), generate


@intrinsic
def fma(typing_context, x, y, z):
    """x * y + z."""

    def generate(context, builder, signature, arguments):
        function = ir.FunctionType(_LLVM, [_LLVM] * 3)
        return builder.call(
            cgutils.get_or_insert_function(builder.module, function, f"llvm.fmuladd.v{WIDTH}f64"), arguments
        )

    return _vector(_vector, _vector, _vector), generate


@intrinsic
def mul(typing_context, x, y):
    """x * y."""
    return _vector(_vector, _vector), lambda context, builder, signature, arguments: builder.fmul(*arguments)


@intrinsic
def add(typing_context, x, y):
    """x + y."""
    return _vector(_vector, _vector), lambda context, builder, signature, arguments: builder.fadd(*arguments)


@intrinsic
def total(typing_context, x):
    """The sum of the elements of x."""

    def generate(context, builder, signature, arguments):
        (vector,), width = arguments, WIDTH
        while width > 1:
            width //= 2
            halves = [
                builder.shuffle_vector(vector, vector, ir.Constant(ir.VectorType(_INT, width), [*elements]))
                for elements in (range(width), range(width, 2 * width))
            ]
            vector = builder.fadd(*halves)
        return builder.extract_element(vector, ir.Constant(_INT, 0))

    return types.float64(_vector), generate
