-- order_traces: which trace a sampled click belongs to, so that a slow order can be found from its id, and its webhook joins the trace.
-- In      nothing
-- Out     order_traces
-- Keeps   rows only of sampled clicks; those older than a week go as new ones come (note_traces.sql)

CREATE TABLE order_traces (
  order_id bigint PRIMARY KEY,
  parent   text NOT NULL CHECK (length(parent) <= 128),
  noted_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
