// SPDX-License-Identifier: BSD-3-Clause
// Every limit of the engine, by name. Nothing on the data path is unbounded, and reaching a limit is an
// answer to the client (BUSY, TOO_LARGE) or a named counter, never a stall, a crash or a silent loss.
#pragma once

#include <cstddef>
#include <cstdint>

namespace txnic::limits {

// ---- transactions -------------------------------------------------------------------------------
inline constexpr uint32_t kKeyBytesMax = 64;
inline constexpr uint32_t kValueBytesMax = 1024;
inline constexpr uint32_t kOperationsMax = 64;    // operations in one message
inline constexpr uint32_t kTablesMax = 256;       // declared tables of a node; ids may be any u16
inline constexpr uint32_t kShardsMax = 1024;      // shards of a cluster
inline constexpr uint32_t kNodesMax = 32;         // nodes of a cluster: its map fits one message
inline constexpr uint32_t kWorkersMax = 64;       // worker lcores of a node
inline constexpr uint32_t kParticipantsMax = 16;  // shards of one transaction

// ---- wire ---------------------------------------------------------------------------------------
// A message fits one Ethernet frame of MTU 1500: 1500 - 20 (IPv4) - 8 (UDP).
inline constexpr uint32_t kMessageBytesMax = 1472;
inline constexpr uint32_t kBurstMax = 64;         // packets in one burst

// ---- sessions -----------------------------------------------------------------------------------
inline constexpr uint32_t kSessionsDefault = 1024;     // open sessions of a node
inline constexpr uint32_t kSessionsMax = 65536;
inline constexpr uint32_t kWindowDefault = 256;        // sequences in one session's exactly-once window
inline constexpr uint32_t kWindowMax = 16384;          // a power of two
inline constexpr uint32_t kStaticSessionsMax = 64;
inline constexpr uint64_t kSessionIdleExpirySecondsDefault = 300;
inline constexpr uint64_t kCookieLifetimeSeconds = 16; // a cookie is accepted for one to two lifetimes
inline constexpr uint32_t kExpiryStepSessions = 4;     // sessions looked at for expiry in one idle step

// ---- transactions over several shards, per worker -----------------------------------------------
inline constexpr uint32_t kCommitTransactionsDefault = 4096;  // prepared, or decided and not acknowledged, or promised
inline constexpr uint32_t kCommitLocksDefault = 65536;        // locks that they hold together
inline constexpr uint32_t kWaitingCopiesMax = 8192;           // PREPAREs whose client waits; a power of two
inline constexpr uint32_t kOwnMessagesBytes = 256u << 10;     // between shards of one worker, in one step of its loop
inline constexpr uint32_t kOwnMessagesPerStep = 1024;         // of them, delivered in one step
inline constexpr uint32_t kPeerGroup = 24;                    // messages of others, looked at together
inline constexpr uint32_t kPreparedBytesMax = 2048;           // redo of one participant's writes
inline constexpr uint64_t kAskDelayNanoseconds = 20'000'000;  // before anything is asked for, or sent again, at first
inline constexpr uint64_t kAskDelayMaxNanoseconds = 640'000'000;
inline constexpr uint8_t kAskAttemptsMax = 10;  // counted: for doubling, and until an orphan is given up
inline constexpr uint64_t kVoteKeepNanoseconds = 5'000'000'000;  // a vote for what is not prepared here
inline constexpr uint64_t kPromiseKeepNanoseconds = 60'000'000'000;  // a promise for a session that is not open here
inline constexpr uint64_t kCommitTimerPauseNanoseconds = 20'000;  // between two steps of the timer
inline constexpr uint32_t kCommitTimerStep = 8;                  // transactions looked at in one step of the timer

// ---- loop ---------------------------------------------------------------------------------------
inline constexpr uint32_t kHeldRepliesMax = 16384;     // answers waiting for the disk, per worker (power of two)
inline constexpr uint32_t kParkedMax = 1024;           // placement NIC: transactions that wait for keys, per worker
inline constexpr uint32_t kParkedTimesMax = 8;         // how often one waits, if its keys are evicted meanwhile
inline constexpr uint64_t kWorkerStallMilliseconds = 1000;  // a worker silent for longer is reported

// ---- host link (placement NIC), per worker --------------------------------------------------------
inline constexpr uint32_t kLinkFrameBytesMin = 1280;          // holds the answer with the largest value
inline constexpr uint32_t kLinkFrameBytesMax = 8192;
inline constexpr uint32_t kLinkWindowFrames = 256;            // on their way in one direction
inline constexpr uint32_t kLinkAppendBytes = 1u << 20;        // records that the back has not taken yet
inline constexpr uint32_t kLinkFetchesMax = 1024;             // questions without an answer; a power of two
inline constexpr uint32_t kNicCommitsMax = 8192;             // marks of commits not taken or durable; a power of two
inline constexpr uint64_t kLinkRepeatNanoseconds = 2'000'000; // without progress: once more, at first
inline constexpr uint64_t kLinkRepeatMaxNanoseconds = 64'000'000;
inline constexpr uint64_t kLinkRewindPauseNanoseconds = 100'000;  // between two repetitions because of a gap
inline constexpr uint64_t kLinkHelloNanoseconds = 10'000'000;     // between two hellos
inline constexpr uint64_t kLinkLeaseNanoseconds = 100'000'000;

// ---- store --------------------------------------------------------------------------------------
inline constexpr uint32_t kBucketChainMax = 64;        // buckets in one overflow chain
inline constexpr uint32_t kSplitsPerInsertMax = 2;     // bucket splits one insert may do

// ---- log ----------------------------------------------------------------------------------------
inline constexpr uint32_t kLogBlockBytes = 4096;             // unit of write and of torn-write damage
inline constexpr uint32_t kLogGroupBytesMax = 4u << 20;      // one group commit
inline constexpr uint64_t kLogSegmentBytesDefault = 256ull << 20;
inline constexpr uint32_t kLogRecordBytesMax = 4352;         // one record
inline constexpr uint64_t kAsyncDelayMicrosecondsDefault = 1000;

}  // namespace txnic::limits
