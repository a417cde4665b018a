"""Fixtures of the tests of the report and of the review page, without a browser and in one."""

from report_cases import facts  # noqa: F401
from review_browser import browser, frame, hospital_page, page_file, visit  # noqa: F401
from review_page import fitted  # noqa: F401
