// When a question comes back: FSRS with the settings of its package, in whole days and without chance, handed to review.js.
// A day is one of the reader's calendar, 2026-03-29, and a night of 23 hours is a night; FSRS counts such days as days of UTC.
import { createEmptyCard, fsrs, Rating } from "ts-fsrs";

const days = fsrs({ enable_fuzz: false, enable_short_term: false });
window.nextReview = (kept, knew, day) => {
  const last = kept && window.book.day(kept.last_review);
  const now = new Date(last > day ? last : day); // a clock that was set back
  const card = kept ? { ...kept, last_review: last } : createEmptyCard(now);
  const { due, ...next } = days.next(card, now, knew ? Rating.Good : Rating.Again).card;
  return { ...next, due: due.toISOString().slice(0, 10), last_review: now.toISOString().slice(0, 10) };
};
