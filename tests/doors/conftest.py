"""Fixtures of the tests of the review page, without a browser and in one."""

from review_browser import browser, frame, hospital_page, page_file, visit  # noqa: F401
from review_page import fitted  # noqa: F401
