-- catalog
SELECT 1;
