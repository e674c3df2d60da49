-- webhooks: endpoints of the shop that hear its events, how far each has got, and the deliveries that are under way.
-- In      the events of 0019, by their numbers
-- Out     webhooks, webhook_secrets, webhook_deliveries, webhook_sender
-- Keeps   events up to an endpoint's cursor have a delivery or need none; a delivery holds an event's number, never its content. Writes of the
--         sender carry its term: those of an earlier sender change nothing

-- types: those it wants; empty: all. state gone: it answered that it wants nothing any more. skipped: events that were deleted before it got
-- them. revision: raised by every change that the sender must read.
CREATE TABLE webhooks (
  id            bigint PRIMARY KEY,
  url           text NOT NULL,
  about         text NOT NULL DEFAULT '',
  types         text[] NOT NULL DEFAULT '{}',
  state         text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'off', 'gone')),
  cursor        bigint NOT NULL CHECK (cursor >= 0),
  skipped       bigint NOT NULL DEFAULT 0,
  failing_since timestamptz,
  revision      bigint NOT NULL DEFAULT 1,
  created_at    timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50);

-- The highest number is the newest. expires_at NULL: until the next one is made.
CREATE TABLE webhook_secrets (
  webhook    bigint NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
  no         int NOT NULL,
  secret     text NOT NULL,
  expires_at timestamptz,
  PRIMARY KEY (webhook, no)
);

-- tries_before: of them, those before it was last sent again by hand. due_at and give_up_at: of waiting ones. The rest: the last try.
CREATE TABLE webhook_deliveries (
  webhook      bigint NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
  event        bigint NOT NULL,
  type         text NOT NULL,
  subject      text NOT NULL,
  state        text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'failed')),
  tries        int NOT NULL DEFAULT 0,
  tries_before int NOT NULL DEFAULT 0,
  due_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
  give_up_at   timestamptz NOT NULL,
  tried_at     timestamptz,
  status       int,
  problem      text,
  detail       text,
  answer       text,
  took_ms      int,
  PRIMARY KEY (webhook, event)
) WITH (fillfactor = 70);
CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries (webhook, event) WHERE state = 'waiting';
CREATE INDEX webhook_deliveries_failed ON webhook_deliveries (webhook, event) WHERE state = 'failed';

-- One row: the fencing token of the one process that sends.
CREATE TABLE webhook_sender (
  one  boolean PRIMARY KEY DEFAULT true CHECK (one),
  term bigint NOT NULL DEFAULT 0
);
INSERT INTO webhook_sender DEFAULT VALUES;
