/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM corefold

#if !defined(_TRACE_COREFOLD_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_COREFOLD_H

#include <linux/tracepoint.h>

/* The numbers are those of reason_code() in drivers/virt/corefold/trace.rs. */
#define show_corefold_reason(reason)			\
	__print_symbolic(reason,			\
			 { 0, "high" },			\
			 { 1, "low" },			\
			 { 2, "confirm-high" },		\
			 { 3, "confirm-low" },		\
			 { 4, "band" },			\
			 { 5, "floor" },		\
			 { 6, "full" },			\
			 { 7, "bounds" },		\
			 { 8, "rate" },			\
			 { 9, "surplus" },		\
			 { 10, "residue" },		\
			 { 11, "probe" },		\
			 { 12, "granted" },		\
			 { 13, "stolen" },		\
			 { 14, "wait" },		\
			 { 15, "stale" })

/* A period was looked at; steal is -1 if it is unknown. */
TRACE_EVENT(corefold_sample,
	TP_PROTO(int steal_bp, unsigned int active, unsigned int total),
	TP_ARGS(steal_bp, active, total),
	TP_STRUCT__entry(
		__field(int, steal_bp)
		__field(unsigned int, active)
		__field(unsigned int, total)
	),
	TP_fast_assign(
		__entry->steal_bp = steal_bp;
		__entry->active = active;
		__entry->total = total;
	),
	TP_printk("steal_bp=%d active=%u total=%u",
		  __entry->steal_bp, __entry->active, __entry->total)
);

/* The policy wants so many cores in use. */
TRACE_EVENT(corefold_decision,
	TP_PROTO(unsigned int active, unsigned int target, int reason),
	TP_ARGS(active, target, reason),
	TP_STRUCT__entry(
		__field(unsigned int, active)
		__field(unsigned int, target)
		__field(int, reason)
	),
	TP_fast_assign(
		__entry->active = active;
		__entry->target = target;
		__entry->reason = reason;
	),
	TP_printk("active=%u target=%u reason=%s", __entry->active,
		  __entry->target, show_corefold_reason(__entry->reason))
);

/* Cores were folded or unfolded, or that was refused. */
TRACE_EVENT(corefold_action,
	TP_PROTO(unsigned int from, unsigned int to, int ret),
	TP_ARGS(from, to, ret),
	TP_STRUCT__entry(
		__field(unsigned int, from)
		__field(unsigned int, to)
		__field(int, ret)
	),
	TP_fast_assign(
		__entry->from = from;
		__entry->to = to;
		__entry->ret = ret;
	),
	TP_printk("from=%u to=%u ret=%d", __entry->from, __entry->to, __entry->ret)
);

#endif /* _TRACE_COREFOLD_H */

/* This part must be outside protection */
#include <trace/define_trace.h>
