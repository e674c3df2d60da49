-- steer_line: an operator sets the rate of a line, pauses or resumes it, and it is written to the log.
-- In      sale, rate (null: as it is), paused (null: as it is), by, action
-- Out     one row if there is such a line
-- Keeps   a change and its line in the log are one statement
WITH steered AS (
  UPDATE lines SET rate = coalesce($2, rate), paused = coalesce($3::boolean, paused) WHERE sale = $1 RETURNING sale, rate, paused),
logged AS (
  INSERT INTO audit_log (by, action, sale, details)
  SELECT $4, $5, sale, jsonb_build_object('rate', rate, 'paused', paused) FROM steered)
SELECT sale FROM steered
