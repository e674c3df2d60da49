-- now: the ledger's clock.
-- In      nothing
-- Out     one row: now
-- Keeps   a plain read
SELECT clock_timestamp() AS now
