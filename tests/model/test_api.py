"""The public names of the model layer."""

from __future__ import annotations

import pytest

import kvcost.model


def test_every_public_name_is_there():
    assert set(dir(kvcost.model)) == set(kvcost.model.__all__)
    for name in kvcost.model.__all__:
        assert getattr(kvcost.model, name) is not None


def test_no_other_name_is():
    with pytest.raises(AttributeError, match="no attribute 'kv_sizes'"):
        _ = kvcost.model.kv_sizes
