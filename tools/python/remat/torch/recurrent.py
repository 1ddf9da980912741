"""Decompositions of the cells of recurrent layers that PyTorch has for GPUs, each in one operation.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import torch


def _with_bias(gates, *biases):
    for bias in biases:
        gates = gates if bias is None else gates + bias
    return gates


def _lstm_cell(input_gates, hidden_gates, cx, input_bias=None, hidden_bias=None):
    """The workspace has the gates behind their functions: input, forget, cell, output."""
    i, f, g, o = _with_bias(input_gates + hidden_gates, input_bias, hidden_bias).chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cy = f * cx + i * g
    return o * cy.tanh(), cy, torch.cat([i, f, g, o], 1)


def _lstm_cell_backward(grad_hy, grad_cy, cx, cy, workspace, has_bias):
    if grad_hy is None and grad_cy is None:
        return None, None, None
    i, f, g, o = workspace.chunk(4, 1)
    t = cy.tanh()
    grad_o = torch.zeros_like(t) if grad_hy is None else grad_hy * t * o * (1 - o)
    grad_c = torch.zeros_like(t) if grad_hy is None else grad_hy * o * (1 - t * t)
    grad_c = grad_c if grad_cy is None else grad_c + grad_cy
    gates = torch.cat([grad_c * g * i * (1 - i), grad_c * cx * f * (1 - f), grad_c * i * (1 - g * g), grad_o], 1)
    return gates, grad_c * f, gates.sum(0) if has_bias else None


def _gru_cell(input_gates, hidden_gates, hx, input_bias=None, hidden_bias=None):
    """The workspace has the gates behind their functions, reset, update and new, then the state before, and what the
    reset gate multiplies."""
    input_r, input_z, input_n = _with_bias(input_gates, input_bias).chunk(3, 1)
    hidden_r, hidden_z, hidden_n = _with_bias(hidden_gates, hidden_bias).chunk(3, 1)
    r, z = (input_r + hidden_r).sigmoid(), (input_z + hidden_z).sigmoid()
    n = (input_n + r * hidden_n).tanh()
    return n + z * (hx - n), torch.cat([r, z, n, hx, hidden_n], 1)


def _gru_cell_backward(grad, workspace, has_bias):
    r, z, n, hx, hidden_n = workspace.chunk(5, 1)
    grad_n = grad * (1 - z) * (1 - n * n)
    grad_r, grad_z = grad_n * hidden_n * r * (1 - r), grad * (hx - n) * z * (1 - z)
    of_input, of_hidden = torch.cat([grad_r, grad_z, grad_n], 1), torch.cat([grad_r, grad_z, grad_n * r], 1)
    biases = (of_input.sum(0), of_hidden.sum(0)) if has_bias else (None, None)
    return of_input, of_hidden, grad * z, *biases


def recurrent_cells():
    aten = torch.ops.aten
    return {aten._thnn_fused_lstm_cell.default: _lstm_cell,
            aten._thnn_fused_lstm_cell_backward_impl.default: _lstm_cell_backward,
            aten._thnn_fused_gru_cell.default: _gru_cell,
            aten._thnn_fused_gru_cell_backward.default: _gru_cell_backward}
