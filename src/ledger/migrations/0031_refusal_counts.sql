-- refusal_counts: whom each process has turned away lately, and why: networks and claims with the most.
-- In      nothing
-- Out     refusal_counts
-- Keeps   one row for each process that has counted something within an hour

CREATE TABLE refusal_counts (
  process  text PRIMARY KEY,
  counts   jsonb NOT NULL,
  saved_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX refusal_counts_saved ON refusal_counts (saved_at);
