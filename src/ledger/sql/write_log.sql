-- write_log: a line of the operators' log.
-- In      by, action, sale or null, item or null, order or null, details (JSON)
-- Keeps   lines are only added
INSERT INTO audit_log (by, action, sale, item, order_id, details) VALUES ($1, $2, $3, $4, $5, $6::jsonb)
