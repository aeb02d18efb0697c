import _ from "lodash";

export const groupBy = _.groupBy;
export const sumBy = _.sumBy;
export const orderBy = _.orderBy;
