"""Fixtures of the tests of model files, of the report, and of the review page without a browser and in one."""

from model_files import samples  # noqa: F401
from report_cases import facts  # noqa: F401
from review_browser import browser, frame, hospital_page, page_file, visit  # noqa: F401
from review_page import fitted  # noqa: F401
