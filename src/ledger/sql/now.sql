-- now: the ledger's clock.
-- Out     one row: now
SELECT clock_timestamp() AS now
