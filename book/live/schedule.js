// When a question comes back: FSRS with the settings of its package, in whole days and without chance, handed to review.js.
import { createEmptyCard, fsrs, Rating } from "ts-fsrs";

const days = fsrs({ enable_fuzz: false, enable_short_term: false });
window.nextReview = (kept, knew, now) => days.next(kept || createEmptyCard(now), now, knew ? Rating.Good : Rating.Again).card;
