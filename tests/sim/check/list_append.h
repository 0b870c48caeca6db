// SPDX-License-Identifier: BSD-3-Clause
// Strict serializability of a list-append history.
//
// The method is Elle's: lists that only grow, with values that are appended once, show the order of versions of each
// key; from it follow the dependencies between transactions; a cycle of dependencies is an anomaly of Adya's.
//   - A. Adya: Weak Consistency: A Generalized Theory and Optimistic Implementations for Distributed Transactions.
//     PhD thesis, MIT, 1999. (G0, G1a, G1b, G1c, G-single, G2)
//   - A. Adya, B. Liskov, P. O'Neil: Generalized Isolation Level Definitions. ICDE 2000.
//   - K. Kingsbury, P. Alvaro: Elle: Inferring Isolation Anomalies from Experimental Observations. VLDB 2020,
//     PVLDB 14(3). (list-append, internal, incompatible-order, real-time graphs)
//
// Sound: what is reported cannot happen under strict serializability. Complete for the same promise: without an
// anomaly, any order of the transactions along the graph is a serial execution that explains every read and respects
// real time (tests/sim/check/brute_force_test.cc compares with all orders). Two additions to Elle make it so: an
// acknowledged append that no read shows yet comes after all that the longest read shows, and so after the readers of
// that; and the appends of one transaction to one key are expected all, in order and side by side.
//
// Names: G0, G1a, G1b, G1c, G-single, G2 (cycles also with -process or -realtime), lost-update, internal, future-read,
// garbage-read, duplicate-elements, incompatible-order, partial-append.
#pragma once

#include "tests/sim/check/history.h"
#include "tests/sim/check/verdict.h"

namespace txnic::check {

// Time and memory grow linearly with micro-operations and elements read (times log n), except the search for shortest
// cycles, which only runs if there is a cycle and has a limit (cycles.h).
// Unusable: two transactions append the same value to the same key, or there is no transaction at all.
Verdict check_list_append(const History& history);

}  // namespace txnic::check
