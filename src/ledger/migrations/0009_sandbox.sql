-- sandbox: the payments of the sandbox provider, where the processes of a cluster share them. No money, and no part of the books.
-- In      the tables of 0001
-- Out     sandbox_payments: a text under each ref; what it says is the sandbox's own business
-- Keeps   one text per ref

CREATE TABLE sandbox_payments (
  ref     text PRIMARY KEY,
  body    text NOT NULL,
  -- By the sandbox's clock; with `over`, what may be forgotten when there are too many.
  made_ms bigint NOT NULL,
  over    boolean NOT NULL
);

CREATE INDEX sandbox_payments_over ON sandbox_payments (made_ms) WHERE over;
