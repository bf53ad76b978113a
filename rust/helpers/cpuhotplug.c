// SPDX-License-Identifier: GPL-2.0

#include <linux/cpuhotplug.h>

__rust_helper
int rust_helper_cpuhp_setup_state_multi(enum cpuhp_state state, const char *name,
					int (*startup)(unsigned int cpu, struct hlist_node *node),
					int (*teardown)(unsigned int cpu, struct hlist_node *node))
{
	return cpuhp_setup_state_multi(state, name, startup, teardown);
}
