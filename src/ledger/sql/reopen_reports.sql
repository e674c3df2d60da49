-- reopen_reports: a final report of a sale that is not over came too early: the ledger's clock was wrong, or its end was being moved just then.
-- In      nothing
-- Out     sale
-- Keeps   the report stays, as one among others; so the sale gets its last one at its real end
UPDATE reconciliations r SET final = false FROM sales s
WHERE r.sale = s.id AND r.final AND s.state <> 'over' AND s.closes_at > clock_timestamp()
RETURNING r.sale
