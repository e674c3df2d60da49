-- capture: calls functions/capture.sql; In, Out and Keeps are said there.
SELECT outcome, order_id, item FROM capture($1, $2, $3, $4, $5)
