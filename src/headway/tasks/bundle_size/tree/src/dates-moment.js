import moment from "moment";

export const isDay = (text) => moment(text, "YYYY-MM-DD", true).isValid();
export const shownDay = (text) => moment.utc(text).format("D MMM YYYY");
export const weekday = (text) => moment.utc(text).format("dddd");
