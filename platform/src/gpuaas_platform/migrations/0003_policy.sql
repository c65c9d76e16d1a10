-- policy
SELECT 1;
