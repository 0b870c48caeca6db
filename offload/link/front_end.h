// SPDX-License-Identifier: BSD-3-Clause
// The front's end of the host link (placement NIC): hello, what the back has kept, questions for keys, records to be
// appended, leases. The cache in front of it is the front's back (offload/nic_back); this machine only carries.
//
//   init() → kGreeting ──welcome──► kReading ──all of it read──► kReady ──serve()──► kServing
//                        any state ──refused, epoch over, released──► kLost
//
// A front that is kLost, or whose lease has ended for good, starts over: everything that it holds (sessions, locks,
// cache) is thrown away, and init() is called with a new instance. The death of the back is the same: what it had not
// made durable is gone, and so is what the front remembers of it.
//
// Positions of records count their bytes in this epoch: append() answers the position behind the record, as
// WorkerLog::append does. taken(): the back has them, in every durability mode (a commit is answered then at the
// earliest). durable(): they survive a crash of the host.
//
// What the cache has to see to:
// - an entry is evicted only when the record of its last write is taken: a question may overtake records that are sent
//   again (order holds between records, and between questions, not between the two);
// - reads are answered from the cache only while has_lease(now), with a `now` that was read after the request came;
// - no writes while store_is_full(), but deletes: what is on its way and what is prepared will fit, more may not.
#pragma once

#include "offload/link/channel.h"
#include "offload/link/record_reader.h"

namespace txnic::link {

struct FrontEndConfig {
  uint16_t worker = 0;
  uint32_t shards = 1;    // local shards of this worker
  uint64_t instance = 0;  // of this life of the front: random, not 0
  uint64_t configuration_hash = 0;
  Name build{};
  uint32_t frame_bytes = limits::kLinkFrameBytesMin;  // largest frame that our port takes
  uint32_t window = limits::kLinkWindowFrames;        // frames that our port's ring holds
  uint32_t append_bytes = limits::kLinkAppendBytes;   // records that are not taken yet; a multiple of 8
  uint32_t fetches = limits::kLinkFetchesMax;         // questions without an answer; a power of two
  TimeNs repeat_ns = limits::kLinkRepeatNanoseconds;  // without progress: say it again
  TimeNs repeat_max_ns = limits::kLinkRepeatMaxNanoseconds;
};

enum class FrontState : uint8_t { kGreeting, kReading, kReady, kServing, kLost };
const char* name(FrontState state);

// A question, as it was asked. `key` is valid during the call.
struct Question {
  uint16_t local_shard = 0;
  TableId table = 0;
  uint8_t key_length = 0;
  const std::byte* key = nullptr;
};

// The back's answer to a question.
struct Answer {
  bool is_present = false;
  Version version = 0;  // of an absent key: of its bucket
  Bytes value;          // valid during the call
};

// Called from on_frame(); must not call the machine back, but for ask() and append().
class FrontEvents {
 public:
  // What the back has kept of earlier fronts, record by record, as a checkpoint has it (txn/record/record.h):
  // kShardState (the newest version of each shard), kSessionOpen, kOutcome, and kPrepare, kPreparedCommit and kAbort of
  // transactions that are not over. False: it makes no sense; the state is kLost.
  virtual bool on_kept(Bytes record) = 0;
  // Answers come in the order of the questions: `number` is fetched() then.
  virtual void on_fetched(Lsn number, const Question& question, const Answer& answer) = 0;
  // Hashes (table_hash) of keys that are present in the shard, maybe some of them twice.
  virtual void on_fill(uint32_t local_shard, std::span<const uint64_t> hashes) = 0;
  virtual void on_fill_done(uint32_t local_shard) = 0;

 protected:
  ~FrontEvents() = default;
};

struct FrontEndCounters {
  uint64_t hellos = 0, refused = 0;
  uint64_t records = 0, record_bytes = 0;  // appended
  uint64_t repeated_bytes = 0;             // of records, sent again
  uint64_t rewinds = 0;                    // times that records were sent again, from what was taken
  uint64_t append_full = 0;                // reserve() had no room
  uint64_t questions = 0, repeated_questions = 0, answers = 0, questions_full = 0;
  uint64_t leases = 0, lease_gaps = 0;  // grants; times that a lease had ended before the next came
};

class FrontEnd : public Channel {
 public:
  static size_t memory_bytes(const FrontEndConfig& config);
  // `memory`: memory_bytes(config), 64-aligned. It, `port` and `events` outlive this or the next init().
  void init(const FrontEndConfig& config, MutableBytes memory, FramePort* port, FrontEvents* events);

  // A frame that came. It is not kept.
  void on_frame(Bytes frame, TimeNs now);
  // One bounded step: what is to be said, or said again, goes out, and the frame in filling is sent. Call it once a
  // round of the loop, after everything that appends and asks. Answers how many frames went.
  uint32_t poll(TimeNs now);

  FrontState state() const { return state_; }
  Refusal why() const { return why_; }                     // kLost, or kGreeting and refused so far
  const RefusedBody& refused() const { return refused_; }  // what the back said with it
  uint32_t incarnation() const { return incarnation_; }    // from kReading on
  TimeNs lease_duration() const { return lease_ns_; }

  // Everything kept is read and installed: from now on the front serves (while it has the lease).
  void serve();
  bool has_lease(TimeNs now) const { return now < lease_end_ns_; }
  TimeNs lease_end() const { return lease_end_ns_; }
  // Nothing more is appended: when all records are taken the back is told, and the state is kLost, kNone.
  void release() { is_releasing_ = true; }

  // ---- records
  // Room for one record of `bytes` (8-aligned, at most kLogRecordBytesMax), or null: too much is not taken yet. Valid
  // until the next call. reserve() without append() changes nothing.
  std::byte* reserve(uint32_t bytes);
  // Makes it part of the stream; goes with poll(). Answers the position behind it.
  Lsn append(uint32_t bytes);
  Lsn end() const { return end_; }
  Lsn taken() const { return taken_; }
  Lsn durable() const { return durable_; }
  bool store_is_full() const { return store_full_; }
  bool quiet() const { return durable_ == end_ && fetched_ == asked_; }

  // ---- questions
  // Asks for a key. Answers the question's number, from 1, or 0: too many are without an answer.
  Lsn ask(uint32_t local_shard, TableId table, const std::byte* key, uint32_t key_length);
  Lsn fetched() const { return fetched_; }
  Lsn asked() const { return asked_; }

  // Starts to ask for the hashes of all present keys, shard by shard. kServing: what is written from the first
  // question on is the caller's to add.
  void fill() { fill_shard_ = 0, fill_cursor_ = 0, is_filling_ = true, fill_due_ns_ = 0; }

  const FrontEndCounters& front_counters() const { return front_counters_; }

 private:
  struct Asked {
    uint16_t local_shard;
    TableId table;
    uint8_t key_length;
    std::array<std::byte, limits::kKeyBytesMax> key;
  };

  void greet(const FrameHeader& header, Bytes frame, TimeNs now);
  void on_entry(const Entry& entry, TimeNs now);
  void on_welcome(const FrameHeader& header, const Entry& entry, TimeNs now);
  void on_refused(const Entry& entry);
  void on_durable(const Entry& entry, TimeNs now);
  void on_fetched(const Entry& entry, TimeNs now);
  void on_mirror(const Entry& entry, TimeNs now);
  void on_fill(const Entry& entry, TimeNs now);
  void on_lease(const Entry& entry, TimeNs now);
  void lose(Refusal why) { state_ = FrontState::kLost, why_ = why, lease_end_ns_ = 0; }

  void say_hello(TimeNs now);
  void ask_mirror(TimeNs now);
  void ask_lease(TimeNs now);
  void ask_fill(TimeNs now);
  void send_records(TimeNs now);
  void send_questions(TimeNs now);
  void send_release(TimeNs now);
  void rewind(TimeNs now);
  bool add_records(bool is_urgent);

  FrontEndConfig config_{};
  FrontEvents* events_ = nullptr;
  FrontState state_ = FrontState::kGreeting;
  Refusal why_ = Refusal::kNone;
  RefusedBody refused_{};
  uint32_t incarnation_ = 0;

  // Records: bytes [taken_, end_) lie in the ring, from position % append_bytes on; one that begins before the ring's
  // end runs on behind it, where a record's room is kept.
  std::byte* ring_ = nullptr;
  Lsn end_ = 0, sent_ = 0, taken_ = 0, durable_ = 0;
  bool store_full_ = false;
  bool is_releasing_ = false;
  TimeNs append_due_ns_ = 0;  // without progress until then: from taken_ on once more
  TimeNs append_wait_ns_ = 0;
  TimeNs rewound_ns_ = 0;

  Asked* questions_ = nullptr;  // ring, by number
  Lsn asked_ = 0, asked_sent_ = 0, fetched_ = 0;
  TimeNs fetch_due_ns_ = 0;
  TimeNs fetch_wait_ns_ = 0;
  TimeNs refetched_ns_ = 0;

  RecordReader kept_;  // of what was kept
  Lsn mirror_ = 0;     // read so far
  TimeNs hello_due_ns_ = 0, mirror_due_ns_ = 0, release_due_ns_ = 0;

  bool is_filling_ = false;
  uint32_t fill_shard_ = 0;
  uint64_t fill_cursor_ = 0;
  uint32_t fill_number_ = 0;  // of the question
  uint64_t fill_parts_ = 0;   // of its answer, that have come: a bit each
  TimeNs fill_due_ns_ = 0;

  static constexpr uint32_t kLeaseQuestions = 8;  // remembered, to know when the granted one was sent
  TimeNs lease_ns_ = 0;
  TimeNs lease_end_ns_ = 0;
  TimeNs lease_due_ns_ = 0;
  uint32_t lease_number_ = 0;
  std::array<TimeNs, kLeaseQuestions> lease_sent_ns_{};

  FrontEndCounters front_counters_;
};

}  // namespace txnic::link
