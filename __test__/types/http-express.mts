import express from 'express';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { resilienceMiddleware } from '@ylcnfrht/resilience/http';
import { equal } from './equal.mjs';

const reports = new ResiliencePipelineBuilder().addConcurrencyLimiter(5).addTimeout('30s').build();
const middleware = resilienceMiddleware({ pipeline: reports });

const app = express();
app.use(middleware);
app.use('/reports', middleware);
app.get('/reports/:id', middleware, (req, res) => {
  equal<typeof req.params.id, string>(true);
  res.json({ swallowed: middleware.swallowed });
});
express.Router().use(middleware);
