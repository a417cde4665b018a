"""Fixtures of the tests of pages in a browser."""

from review_browser import browser, frame, hospital_page, page_file, visit  # noqa: F401
