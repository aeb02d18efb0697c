export { groupBy, orderBy, sumBy } from "./collections-lodash.js";
