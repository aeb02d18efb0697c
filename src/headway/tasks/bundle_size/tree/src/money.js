export const isCents = (text) => /^-?\d{1,9}$/.test(text);

export const shownCents = (cents) => {
  const digits = String(Math.abs(cents)).padStart(3, "0");
  const whole = digits.slice(0, -2).replace(/\B(?=(\d{3})+$)/g, ",");
  return `${cents < 0 ? "-" : ""}${whole}.${digits.slice(-2)} EUR`;
};
