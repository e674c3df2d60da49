-- reopen_reports: final reports of sales that are not over are no longer final. Such a report came too early: the ledger's clock was wrong, or
--                 the sale's end was moved meanwhile.
-- Out     sale
-- Keeps   the report stays, as one of many; the sale gets its final one at its real end. Bounded by the sales whose end is still to come
WITH early AS MATERIALIZED (
  SELECT id FROM sales WHERE closes_at > statement_timestamp() AND state <> 'over' AND reported)
UPDATE reconciliations r SET final = false FROM early
WHERE r.sale = early.id AND r.final
RETURNING r.sale
