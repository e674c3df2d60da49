-- confirm_refund: calls functions/confirm_refund.sql; In, Out and Keeps are said there.
SELECT outcome, amount_minor, currency FROM confirm_refund($1, $2, $3, $4, $5)
