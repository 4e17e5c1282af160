"""The questions as Spark SQL, over the views `groups`, `partitions`, `topics`, `moments` and `spans`.

`moments` and `spans` (see `spans.py`) say how long each sample counts, so no query has a clock of its own.
"""

from __future__ import annotations

from typing import Final

# when samples were taken
MOMENTS: Final = "SELECT DISTINCT cluster, time FROM groups"

# one row per group and step, of which the other questions are made. A step has the worst status in it
_GROUP_STEPS: Final = """
    SELECT /*+ BROADCAST(s) */
        g.cluster, g.name, s.step,
        sum(s.seconds) AS known_s,
        sum(if(g.status = 'OK', s.seconds, 0)) AS ok_s,
        sum(if(g.status = 'WARN', s.seconds, 0)) AS warn_s,
        sum(if(g.status = 'ERR', s.seconds, 0)) AS err_s,
        sum(g.total_lag * s.seconds) AS lag_s,
        max(g.total_lag) AS max_lag,
        min(g.complete) AS complete,
        max(struct(g.status_code, g.status)).status AS status,
        max(struct(g.time, g.status, g.total_lag)) AS last
    FROM (SELECT *, `group` AS name FROM groups {where}) g
    JOIN spans s ON s.cluster = g.cluster AND s.time = g.time
    GROUP BY g.cluster, g.name, s.step
"""

_SUMS: Final = """
        sum(known_s) AS known_s,
        sum(ok_s) AS ok_s,
        sum(warn_s) AS warn_s,
        sum(err_s) AS err_s,
        sum(lag_s) / sum(known_s) AS mean_lag,
        max(max_lag) AS max_lag,
        max(last).status AS last_status,
        max(last).total_lag AS last_lag,
        sort_array(collect_list(struct(step, max_lag, status, known_s))) AS steps
"""

# groups by how long they were not OK, then by how long in ERR, then by their lag
WORST: Final = f"""
    SELECT cluster, name, {_SUMS}
    FROM ({_GROUP_STEPS.format(where="")})
    GROUP BY cluster, name
    ORDER BY warn_s + err_s DESC, err_s DESC, max_lag DESC, cluster, name
    LIMIT :limit
"""

# groups by the share of the time that they were OK, the lowest first
AVAILABILITY: Final = f"""
    SELECT cluster, name, {_SUMS}
    FROM ({_GROUP_STEPS.format(where="")})
    GROUP BY cluster, name
    ORDER BY ok_s / known_s, err_s DESC, cluster, name
    LIMIT :limit
"""

# one group: its steps
GROUP: Final = f"""
    SELECT cluster, step, known_s, ok_s, warn_s, err_s, status, lag_s / known_s AS mean_lag, max_lag,
        last.total_lag AS last_lag, complete
    FROM ({_GROUP_STEPS.format(where="WHERE `group` = :group")})
    ORDER BY cluster, step
"""
GROUP_NAMES: Final = "SELECT DISTINCT cluster, `group` AS name FROM groups"
TOPIC_NAMES: Final = "SELECT DISTINCT cluster, topic AS name FROM topics"

# how much was written to each partition from one sample to the next. A head that went down is that of a topic that was
# deleted and made again; where a sample is missing between the two, nobody knows when it came
_RATES: Final = """
    SELECT /*+ BROADCAST(m), BROADCAST(s) */
        p.cluster, {key} p.partition, s.step,
        sum(p.messages * s.seconds / m.seconds) AS messages,
        sum(s.seconds) AS seconds
    FROM (
        SELECT cluster, {key} partition, time,
            lead(time) OVER (PARTITION BY cluster, {key} partition ORDER BY time) AS next,
            lead({offset}) OVER (PARTITION BY cluster, {key} partition ORDER BY time) - {offset} AS messages
        FROM {table} WHERE topic = :topic
    ) p
    JOIN moments m ON m.cluster = p.cluster AND m.time = p.time AND m.next = p.next
    JOIN spans s ON s.cluster = p.cluster AND s.time = p.time
    WHERE p.messages >= 0
    GROUP BY p.cluster, {key} p.partition, s.step
"""

# messages a second into the topic: a rate per partition, summed
INFLOW: Final = f"""
    SELECT cluster, step, sum(messages / seconds) AS rate, sum(messages) AS messages,
        count(DISTINCT partition) AS partitions
    FROM ({_RATES.format(key="", offset="head", table="topics")})
    GROUP BY cluster, step
    ORDER BY cluster, step
"""

# who reads the topic: messages a second, and the lag on this topic
READERS: Final = f"""
    WITH readers AS (SELECT *, `group` AS name FROM partitions),
    rates AS (
        SELECT cluster, name, step, sum(messages / seconds) AS rate
        FROM ({_RATES.format(key="name,", offset="`offset`", table="readers")})
        GROUP BY cluster, name, step
    ),
    lags AS (
        SELECT /*+ BROADCAST(s) */ r.cluster, r.name, r.time, s.step, sum(r.lag) AS lag, max(r.status_code) AS code,
            count(*) AS partitions, count(DISTINCT nullif(r.owner, '')) AS owners, max(s.seconds) AS seconds
        FROM readers r JOIN spans s ON s.cluster = r.cluster AND s.time = r.time
        WHERE r.topic = :topic
        GROUP BY r.cluster, r.name, r.time, s.step
    ),
    steps AS (
        SELECT cluster, name, step, max(lag) AS max_lag, sum(lag * seconds) AS lag_s, sum(seconds) AS known_s,
            max(code) AS code, max(struct(time, lag, partitions, owners)) AS last
        FROM lags GROUP BY cluster, name, step
    )
    SELECT s.cluster, s.name, max(last).partitions AS partitions, max(last).owners AS owners,
        sum(r.rate * s.known_s) / sum(if(r.rate IS NULL, 0, s.known_s)) AS rate,
        sum(lag_s) / sum(known_s) AS mean_lag, max(max_lag) AS max_lag, max(last).lag AS last_lag, max(code) AS code,
        sort_array(collect_list(struct(s.step, s.max_lag, r.rate))) AS steps
    FROM steps s LEFT JOIN rates r ON r.cluster = s.cluster AND r.name = s.name AND r.step = s.step
    GROUP BY s.cluster, s.name
    ORDER BY last_lag DESC, s.cluster, s.name
    LIMIT :limit
"""
