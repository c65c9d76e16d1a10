"""Which passwords are refused, and what the person is shown."""

import pytest

from gpuaas_platform.identity.password_rules import password_fault

NAMES = ("ada.lovelace@acme.example", "Ada Lovelace", "acme", "Acme Instruments")
OF_NAMES = "is little more than your name, your tenant's or the product's"


@pytest.mark.parametrize(
    "password",
    [
        "correct horse battery",
        "aardvark-tuesday-lamp",
        "x7Gq2mWp9LzT",
        "ada likes quiet mornings",
        "Überraschung am Donnerstag",
        "東京の静かな朝に飲むコーヒー",
    ],
)
def test_a_good_password_passes_without_digits_or_signs(password: str) -> None:
    assert password_fault(password, NAMES) is None


@pytest.mark.parametrize(
    "password",
    [
        "aaaaaaaaaaaa",
        "a" * 256,
        "abcabcabcabc",
        "123456789012",
        "abcdefghijklmnop",
        "qwertyuiop12",
        "1qaz2wsx3edc",
        "Password1234",
        "passwordpassword",
        "iloveyou1234",
        "unbelievable",
    ],
)
def test_a_common_password_or_pattern_is_refused(password: str) -> None:
    fault = password_fault(password, NAMES)
    assert fault is not None
    assert fault.startswith("is easy to guess.")
    assert fault.endswith("Take several unrelated words.")


@pytest.mark.parametrize(
    "password",
    [
        "ada.lovelace@acme.example",
        "AdaLovelace12",
        "lovelace-acme-1",
        "acme-instruments",
        "gpuaas-gpuaas-1",
        "GPUaaS@acme2026",
    ],
)
def test_names_of_the_account_the_tenant_and_the_product_are_refused(password: str) -> None:
    assert password_fault(password, NAMES) == OF_NAMES
