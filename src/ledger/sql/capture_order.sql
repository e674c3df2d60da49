-- capture_order: calls functions/capture_order.sql; In, Out and Keeps are said there.
SELECT outcome, item, again, refund_due FROM capture_order($1, $2, $3, $4, $5, $6, $7, $8)
