-- refund_part: calls functions/refund_part.sql; In, Out and Keeps are said there.
SELECT outcome, refundable, currency FROM refund_part($1, $2, $3, $4, $5, $6, $7, $8)
