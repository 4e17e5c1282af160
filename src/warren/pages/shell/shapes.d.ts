// The JSON of /v4 as far as the pages use it; /v4/openapi.json describes all of it.

export type GroupStatus = "OK" | "WARN" | "ERR";
export type PartitionStatus = "OK" | "WARN" | "STOP" | "STALL" | "REWIND";

export interface Snapshot {
  number: number;
  taken_at: number;
  as_of: number;
  cursor: string;
}

/** One group of one cluster, as the pages keep it: replaced field by field, never as a whole. */
export interface Group {
  cluster: string;
  group: string;
  /** cluster and group as one text */
  key: string;
  /** the name in lower case, for the filter */
  folded: string;
  status: GroupStatus;
  complete: number;
  partitions: number;
  lag: number;
  maxlag: number;
  lastCommit: number;
  since: number;
}

export interface ClusterChanges {
  cluster: string;
  snapshot: Snapshot;
  complete: boolean;
  groups: {
    group: string[];
    status: GroupStatus[];
    complete: number[];
    partition_count: number[];
    totallag: number[];
    maxlag: number[];
    last_commit: number[];
    status_since: number[];
  };
  removed: string[];
}

export interface ClusterHealth {
  cluster: string;
  ready: boolean;
  running: boolean;
  caught_up: boolean;
  blind: boolean;
  seen_at: number;
  records: number;
  records_per_second: number;
  left: number;
  read_share: number;
  triggers: number;
  trigger_ms: number;
  restarts: number;
  error: string;
  snapshot: { number: number; taken_at: number; age_ms: number } | null;
  groups: Partial<Record<GroupStatus, number>>;
}

export interface Health {
  ready: boolean;
  version: string;
  clusters: ClusterHealth[];
  notifier: NotifierHealth | null;
  sinks: SinkHealth[];
}

export interface Session {
  admin: boolean;
  version: string;
}

export interface Entry {
  offset: number;
  timestamp: number;
  observedAt: number;
  lag: number | null;
  floor?: number | null;
}

export interface Partition {
  topic: string;
  partition: number;
  owner: string;
  client_id: string;
  status: PartitionStatus;
  start: Entry | null;
  end: Entry | null;
  current_lag: number;
  complete: number;
  head: number | null;
  tail: number | null;
  rule: string | null;
  because: string | null;
  /** positions in the window of the commits that decided */
  decided_by?: number[];
  would_change?: string | null;
}

export interface PartitionWindow extends Partition {
  window: Entry[];
}

export interface GroupWindows {
  cluster: string;
  snapshot: Snapshot;
  group: string;
  total: number;
  offset: number;
  partitions: PartitionWindow[];
}

export interface GroupSummary {
  group: string;
  status: GroupStatus;
  complete: number;
  partition_count: number;
  totallag: number;
  maxlag: number;
  last_commit: number | null;
  status_since: number | null;
}

export interface GroupDetail {
  cluster: string;
  snapshot: Snapshot;
  summary: GroupSummary;
  partitions: Partition[];
}

export interface GroupHistory {
  since: number;
  until: number;
  times: number[];
  status: GroupStatus[];
  totallag: number[];
  complete: number[];
}

export interface ClusterHistory {
  since: number;
  until: number;
  step: number;
  times: number[];
  total: number;
  groups: { group: string; worst: GroupStatus; totallag: (number | null)[] }[];
}

export interface Message {
  id: string;
  module: string;
  kind: "open" | "close";
  status: string;
  state: "owed" | "sent" | "failed" | "abandoned";
  attempts: number;
  decided_at: number;
  at: number;
  answer: string;
  error: string;
}

export interface Incident {
  id: string;
  cluster: string;
  group: string;
  start: number;
  end: number | null;
  ending: string | null;
  reason: string;
  status: string;
  worst: string;
  messages: Message[];
}

export interface Incidents {
  total: number;
  offset: number;
  incidents: Incident[];
}

export interface Evidence {
  at: number;
  status: GroupStatus;
  totallag: number;
  complete: number;
  partition_count: number;
  not_ok: number;
  partitions: PartitionWindow[];
}

export interface IncidentDetail extends Incident {
  evidence: { opening: Evidence | null; worst: Evidence | null; end: Evidence | null };
}

export interface TopicReader {
  group: string;
  status: PartitionStatus;
  totallag: number;
  maxlag: number;
  partition_count: number;
  not_ok: number;
  last_commit: number | null;
}

export interface Topic {
  cluster: string;
  topic: string;
  inflow: number | null;
  inflow_over_ms: number;
  partitions: { partition: number; head: number | null; tail: number | null; inflow: number | null }[];
  readers: TopicReader[];
}

export interface Triggers {
  cluster: string;
  times: number[];
  took_ms: number[];
}

export interface About {
  version: string;
  python: string;
  host: string;
  started_at: number;
  uptime_ms: number;
  source: string;
  configuration: Record<string, unknown>;
  triggers: Triggers[];
}

export interface Delivery {
  id: string;
  incident: string;
  cluster: string;
  group: string;
  kind: "open" | "close";
  status: string;
  state: "owed" | "sent" | "failed" | "abandoned";
  attempts: number;
  at: number;
  answer: string;
}

export interface Notifier {
  module: string;
  class_name: string;
  owed: number;
  sent: number;
  failed: number;
  retried: number;
  last_sent: Delivery | null;
  last_failure: Delivery | null;
}

export interface NotifierTried {
  module: string;
  sent: boolean;
  answer: string;
  retriable: boolean;
  took_ms: number;
  head: string[];
  body: string;
}

export interface NotifierHealth {
  state: "alone" | "leading" | "following" | "disconnected";
  leader: string;
  open_incidents: number;
  modules: { module: string; owed: number; sent: number; failed: number; retried: number }[];
}

export interface SinkHealth {
  sink: string;
  class_name: string;
  running: boolean;
  behind_samples: number;
  behind_ms: number;
  dropped_samples: number;
  samples: number;
  rows: number;
  rejected_rows: number;
  failures: number;
  restarts: number;
  last_sample: number;
  written_at: number;
  error: string;
}

/** What the address says: the page's name, the names in the path, and the query. */
export interface Route {
  page: string;
  names: string[];
  query: URLSearchParams;
  /** without the leading # */
  part: string;
}

/** An open page. */
export interface OpenPage {
  /** The address changed within the same page: the back button, or a link. Without it the page is opened anew. */
  update?(route: Route): void;
  /** What the title says before "Warren"; asked after every change. */
  title(): string;
  close(): void;
}

export interface PageModule {
  open(place: HTMLElement, route: Route): OpenPage;
}
