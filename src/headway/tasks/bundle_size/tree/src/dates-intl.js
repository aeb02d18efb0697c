const part = (text, options) =>
  new Intl.DateTimeFormat("en-US", { timeZone: "UTC", ...options }).format(new Date(text));

export const isDay = (text) =>
  /^\d{4}-\d\d-\d\d$/.test(text) && new Date(text).toString() !== "Invalid Date" && new Date(text).toISOString().startsWith(text);
export const shownDay = (text) =>
  [part(text, { day: "numeric" }), part(text, { month: "short" }), part(text, { year: "numeric" })].join(" ");
export const weekday = (text) => part(text, { weekday: "long" });
