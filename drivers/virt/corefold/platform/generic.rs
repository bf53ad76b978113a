// SPDX-License-Identifier: GPL-2.0

//! A platform of which nothing is known but steal.

use super::Platform;

/// See the module's documentation.
pub(crate) struct Generic;

impl Platform for Generic {
    const NAME: &'static str = "generic";
}
