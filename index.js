'use strict';

// The public entry: names and nothing else. The contract is index.d.ts.

const { aimd, gradient2, vegas } = require('./lib/algorithms.js');
const { ResiliencePipelineBuilder } = require('./lib/builder.js');
const { getResilienceContext, getResilienceSignal } = require('./lib/context.js');
const errors = require('./lib/errors.js');
const { AdaptiveLimitProvider } = require('./lib/native.js');
const { Outcome } = require('./lib/outcome.js');
const { ResiliencePipeline } = require('./lib/pipeline.js');
const { defaultShouldDrop } = require('./lib/should-drop.js');

module.exports.AdaptiveLimitProvider = AdaptiveLimitProvider;
module.exports.BulkheadRejectedError = errors.BulkheadRejectedError;
module.exports.ExecutionRejectedError = errors.ExecutionRejectedError;
module.exports.InternalError = errors.InternalError;
module.exports.Outcome = Outcome;
module.exports.PipelineDisposedError = errors.PipelineDisposedError;
module.exports.ResiliencePipeline = ResiliencePipeline;
module.exports.ResiliencePipelineBuilder = ResiliencePipelineBuilder;
module.exports.TimeoutRejectedError = errors.TimeoutRejectedError;
module.exports.aimd = aimd;
module.exports.defaultShouldDrop = defaultShouldDrop;
module.exports.getResilienceContext = getResilienceContext;
module.exports.getResilienceSignal = getResilienceSignal;
module.exports.gradient2 = gradient2;
module.exports.isExecutionRejected = errors.isExecutionRejected;
module.exports.vegas = vegas;
