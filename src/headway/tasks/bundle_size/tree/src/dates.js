export { isDay, shownDay, weekday } from "./dates-moment.js";
