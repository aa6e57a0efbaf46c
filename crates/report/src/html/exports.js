
// What the pages of other parts of lgoose use of the above.
export {
  Chart, Choice, Names, Sorting, Spans, TimeAxis, addTheme, clock, divided, drawAll, find, findAll, group, make, middle, nearest, plain,
  showMs, showPercent, showRate, digits, tickMs, tickRate,
};
