// The rules in words, in the order of evaluation; docs/rules.md says more.

/** @typedef {{ name: string, status: string, when: string, means: string, only?: string }} RuleText */

const CACHING = "With the rules of class caching only, which are Burrow's.";
const TREND = "With the rules of class trend only, which are the default.";

/** @type {RuleText[]} */
export const RULES = [
  {
    name: "no_commit",
    status: "OK",
    when: "No commit of the group for this partition is known.",
    means: "There is nothing to judge. It is normal for partitions that never had a message.",
  },
  {
    name: "too_few_commits",
    status: "OK",
    when: "The window has too few commits to know how often the group commits.",
    means:
      "A new group gets time to show what it does. With fewer than three commits it is not judged for five minutes.",
  },
  {
    name: "no_lag_now",
    status: "OK",
    when: "The last commit is at the head of the partition, or as near as is allowed.",
    means: "Everything is read, whatever happened before.",
  },
  {
    name: "stopped",
    status: "STOP",
    when:
      "The last commit is longer ago than the whole window spans, and the group was not at the head a moment ago.",
    means:
      "The consumer has died, hangs, or has lost this partition. See whether its process runs and whether its poll loop returns.",
  },
  {
    name: "rewound",
    status: "REWIND",
    when: "The committed offset fell, and no later commit has come back to where it was.",
    means:
      "Somebody has reset the group's offsets, or two consumers commit for the same partition. Messages are read again.",
  },
  {
    name: "caught_up",
    status: "OK",
    when: "There is lag now, but at some commit of the window there was none.",
    means: "The group keeps up and is not at the head at this moment.",
  },
  {
    name: "stalled",
    status: "STALL",
    when: "All commits of the window have the same offset, and there is lag.",
    means: "The consumer runs and commits, but does not get on: often it tries one message again and again.",
  },
  {
    name: "falling_behind",
    status: "WARN",
    when: "From commit to commit the lag never shrank.",
    means: "The consumer moves, but messages come faster. More consumers, or a faster one, would help.",
    only: CACHING,
  },
  {
    name: "keeping_pace",
    status: "OK",
    when: "There is lag, but it shrank at least once in the window.",
    means: "Busy topics look like this.",
    only: CACHING,
  },
  {
    name: "growing",
    status: "WARN",
    when: "Over a full window the lag rises along a line: at least 3 % of what comes in stays unread.",
    means: "The consumer moves, but messages come faster. More consumers, or a faster one, would help.",
    only: TREND,
  },
  {
    name: "not_growing",
    status: "OK",
    when: "There is lag, but it does not rise along a line.",
    means: "The consumer lags evenly and keeps pace.",
    only: TREND,
  },
];
