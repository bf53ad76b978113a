// SPDX-License-Identifier: GPL-2.0
/*
 * The tracepoints of corefold.
 */

#define CREATE_TRACE_POINTS
#define CREATE_RUST_TRACE_POINTS
#include <trace/events/corefold.h>
