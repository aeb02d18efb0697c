export const groupBy = (list, key) => {
  const groups = {};
  for (const one of list) (groups[one[key]] ??= []).push(one);
  return groups;
};
export const sumBy = (list, key) => list.reduce((sum, one) => sum + one[key], 0);
export const orderBy = (list, keys, ways) =>
  [...list].sort((a, b) => {
    for (const [at, key] of keys.entries())
      if (a[key] !== b[key]) return (a[key] < b[key] ? -1 : 1) * (ways[at] === "desc" ? -1 : 1);
    return 0;
  });
