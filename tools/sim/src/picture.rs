// SPDX-License-Identifier: GPL-2.0

//! Runs as pictures.
