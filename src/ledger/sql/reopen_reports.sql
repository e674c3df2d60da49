-- reopen_reports: final reports of sales that are not over are no longer final. Such a report came too early: the ledger's clock was wrong, or
--                 the sale's end was moved meanwhile.
-- Out     sale
-- Keeps   the report stays, as one of many; the sale gets its final one at its real end
UPDATE reconciliations r SET final = false FROM sales s
WHERE r.sale = s.id AND r.final AND s.state <> 'over' AND s.closes_at > clock_timestamp()
RETURNING r.sale
