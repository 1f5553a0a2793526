import { lines, tablePath } from "../api.js";
import { pageRows } from "./question.js";

// keptPages is how many pages around the one that is looked at keep their rows. Of all others their tokens are kept, by
// which they can be had again: a million rows are some thousand tokens.
const keptPages = 30;

// A Pager has the rows of a scan by their positions. It loads pages one after the other as they are needed, and a page
// that it has dropped by its token. changed is called when there is more to draw.
export class Pager {
  constructor(table, request, changed) {
    this.table = table;
    this.request = request;
    this.changed = changed;
    this.pages = [{ token: null, rows: null }];
    this.count = 0; // rows known so far
    this.whole = false; // there are no more
    this.error = null;
    this.statistics = null;
    this.control = new AbortController();
    this.loading = new Set();
  }

  close() {
    this.control.abort();
  }

  // renew has the rows loaded again where they are, since some have changed.
  renew(from, to) {
    for (const page of this.pages) page.stale = true;
    this.look(from, to);
  }

  // gone reports whether a row was there when its page was first loaded, and is not any more.
  gone(i) {
    return Boolean(this.pages[Math.floor(i / pageRows)]?.rows) && !this.row(i);
  }

  row(i) {
    return this.pages[Math.floor(i / pageRows)]?.rows?.[i % pageRows];
  }

  // look loads what is between two positions, and something behind it. After an error it does not, until retry.
  look(from, to) {
    if (this.error) return;
    const first = Math.floor(from / pageRows);
    const last = Math.min(Math.floor(to / pageRows) + 2, this.pages.length - 1);
    this.drop(first, last);
    for (let i = Math.max(first, 0); i <= last; i++) {
      if ((!this.pages[i].rows || this.pages[i].stale) && !this.loading.has(i)) this.load(i);
    }
  }

  retry(from, to) {
    this.error = null;
    this.look(from, to);
  }

  drop(first, last) {
    if (this.pages.length <= keptPages) return;
    for (let i = 0; i < this.pages.length; i++) {
      if (i < first - keptPages / 2 || i > last + keptPages / 2) this.pages[i].rows = null;
    }
  }

  async load(i) {
    const page = this.pages[i];
    const request = page.token === null ? this.request : { ...this.request, row: { ...this.request.row, page_token: page.token } };
    this.loading.add(i);
    page.stale = false;
    try {
      const answer = await lines(tablePath(this.table, "/scan"), request, { signal: this.control.signal });
      page.rows = answer.rows;
      this.statistics = answer.statistics;
      if (i === this.pages.length - 1 && !this.whole) {
        this.count = i * pageRows + answer.rows.length;
        this.whole = !answer.has_more;
        if (answer.has_more) this.pages.push({ token: answer.next_page_token, rows: null });
      }
    } catch (error) {
      if (this.control.signal.aborted) return;
      this.error = error;
    } finally {
      this.loading.delete(i);
    }
    this.changed();
  }
}
